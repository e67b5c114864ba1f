//! The values that stand for the parameters of the queries: those of the specification's validation, or drawn by its rules
//! (clause 2.4). Pure.

use tpchgen::distribution::{Distribution, Distributions};

use crate::random::Random;

/// The first year of the orders.
const FIRST_YEAR: u64 = 1992;
const WORDS: [[&str; 4]; 2] =
    [["special", "pending", "unusual", "express"], ["packages", "requests", "accounts", "deposits"]];

/// Those of the validation, in the order of the holes of the query's text.
pub(super) fn of_validation(query: u8, scale: f64) -> Vec<String> {
    let values: &[&str] = match query {
        1 => &["90"],
        2 => &["15", "BRASS", "EUROPE"],
        3 => &["BUILDING", "1995-03-15"],
        4 => &["1993-07-01"],
        5 => &["ASIA", "1994-01-01"],
        6 => &["1994-01-01", "0.06", "24"],
        7 => &["FRANCE", "GERMANY"],
        8 => &["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"],
        9 => &["green"],
        10 => &["1993-10-01"],
        11 => return vec!["GERMANY".to_owned(), fraction(scale)],
        12 => &["MAIL", "SHIP", "1994-01-01"],
        13 => &["special", "requests"],
        14 => &["1995-09-01"],
        15 => &["1996-01-01"],
        16 => &["Brand#45", "MEDIUM POLISHED", "49", "14", "23", "45", "19", "3", "36", "9"],
        17 => &["Brand#23", "MED BOX"],
        18 => &["300"],
        19 => &["Brand#12", "Brand#23", "Brand#34", "1", "10", "20"],
        20 => &["forest", "1994-01-01", "CANADA"],
        21 => &["SAUDI ARABIA"],
        22 => &["13", "31", "23", "29", "30", "18", "17"],
        _ => &[],
    };
    values.iter().map(|value| (*value).to_owned()).collect()
}

/// Drawn ones.
pub(super) fn drawn(query: u8, scale: f64, random: &mut Random) -> Vec<String> {
    let distributions = Distributions::static_default();
    let mut draw = Draw(random);
    match query {
        1 => vec![draw.number(60, 120)],
        2 => {
            let last = draw.one_of(distributions.part_types());
            let last = last.rsplit(' ').next().unwrap_or_default().to_owned();
            vec![draw.number(1, 50), last, draw.one_of(distributions.regions())]
        }
        3 => {
            vec![draw.one_of(distributions.market_segments()), format!("1995-03-{:0>2}", draw.number(1, 31))]
        }
        4 => vec![draw.month(12, 58)],
        5 => vec![draw.one_of(distributions.regions()), draw.year()],
        6 => vec![draw.year(), format!("0.0{}", draw.number(2, 9)), draw.number(24, 25)],
        7 => draw.different(2, |draw| draw.one_of(distributions.nations())),
        8 => {
            let nations = distributions.nations();
            let at = draw.below(nations.size());
            let region = usize::try_from(nations.get_weight(at)).unwrap_or_default();
            let region = distributions.regions().get_value(region);
            vec![nations.get_value(at).to_owned(), region.to_owned(), draw.one_of(distributions.part_types())]
        }
        9 => vec![draw.one_of(distributions.part_colors())],
        10 => vec![draw.month(13, 24)],
        11 => vec![draw.one_of(distributions.nations()), fraction(scale)],
        12 => {
            let mut values = draw.different(2, |draw| draw.one_of(distributions.ship_modes()));
            values.push(draw.year());
            values
        }
        13 => WORDS.map(|words| words[draw.below(words.len())].to_owned()).into(),
        14 => vec![draw.month(12, 60)],
        15 => vec![draw.month(12, 58)],
        16 => {
            let kind = draw.one_of(distributions.part_types());
            let kind = kind.rsplit_once(' ').map_or("", |(first, _)| first).to_owned();
            let sizes = draw.different(8, |draw| draw.number(1, 50));
            [draw.brand(), kind].into_iter().chain(sizes).collect()
        }
        17 => vec![draw.brand(), draw.one_of(distributions.part_containers())],
        18 => vec![draw.number(312, 315)],
        19 => {
            let brands = [draw.brand(), draw.brand(), draw.brand()];
            let quantities = [draw.number(1, 10), draw.number(10, 20), draw.number(20, 30)];
            brands.into_iter().chain(quantities).collect()
        }
        20 => {
            let color = draw.one_of(distributions.part_colors());
            vec![color, draw.year(), draw.one_of(distributions.nations())]
        }
        21 => vec![draw.one_of(distributions.nations())],
        22 => draw.different(7, |draw| draw.number(10, 34)),
        _ => Vec::new(),
    }
}

/// Of query 11: so that it finds about as many at each scale.
fn fraction(scale: f64) -> String {
    format!("{:.10}", 0.0001 / scale)
}

struct Draw<'a>(&'a mut Random);

impl Draw<'_> {
    fn below(&mut self, count: usize) -> usize {
        (self.0.bits() % count.max(1) as u64) as usize
    }

    fn number(&mut self, first: usize, last: usize) -> String {
        (first + self.below(last + 1 - first)).to_string()
    }

    fn one_of(&mut self, distribution: &Distribution) -> String {
        let values = distribution.get_values();
        values[self.below(values.len())].to_owned()
    }

    /// Values of which no two are the same.
    fn different(&mut self, count: usize, mut draw: impl FnMut(&mut Self) -> String) -> Vec<String> {
        let mut values = Vec::with_capacity(count);
        while values.len() < count {
            let value = draw(self);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// The first of a month, `from` months behind the first of the data, and so many that may be.
    fn month(&mut self, from: u64, count: usize) -> String {
        let month = from + self.below(count) as u64;
        format!("{}-{:0>2}-01", FIRST_YEAR + month / 12, month % 12 + 1)
    }

    /// The first day of 1993 to 1997.
    fn year(&mut self) -> String {
        format!("{}-01-01", FIRST_YEAR + 1 + self.below(5) as u64)
    }

    fn brand(&mut self) -> String {
        format!("Brand#{}{}", self.number(1, 5), self.number(1, 5))
    }
}
