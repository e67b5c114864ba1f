//! Exact decimals of workload files: kept as their digits, and computed with as units of their last place. What has more digits than
//! products keep is an error, and never another number.

use std::cmp::Ordering;

/// Digits that a decimal has at most.
pub(crate) const DIGITS_MAX: u32 = 38;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    units: i128,
    /// Behind the point.
    places: u32,
}

impl Decimal {
    /// `None` where it has too many digits.
    pub(crate) fn new(units: i128, places: u32) -> Option<Self> {
        let fits = places <= DIGITS_MAX && units.unsigned_abs() < 10_u128.pow(DIGITS_MAX);
        fits.then_some(Self { units, places })
    }

    /// The number that is written so: `-12.50`.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let mut units: i128 = 0;
        for digit in digits.iter().filter(|byte| **byte != b'.') {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            units = units.checked_mul(10)?.checked_add(i128::from(digit))?;
        }
        let places = digits.iter().position(|byte| *byte == b'.').map_or(0, |point| digits.len() - point - 1);
        Self::new(if digits.len() < text.len() { -units } else { units }, places as u32)
    }

    /// Whether a text is digits with at most one point between them.
    pub(super) fn is_written(text: &[u8]) -> bool {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let mut parts = digits.splitn(2, |byte| *byte == b'.');
        parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        if self.units < 0 {
            out.push(b'-');
        }
        let mut buffer = itoa::Buffer::new();
        let number = buffer.format(self.units.unsigned_abs()).as_bytes();
        let places = self.places as usize;
        let begin = out.len();
        out.resize(begin + (places + 1).saturating_sub(number.len()), b'0');
        out.extend_from_slice(number);
        if places > 0 {
            out.insert(out.len() - places, b'.');
        }
    }

    pub(super) fn add(self, other: Self) -> Option<Self> {
        let places = self.places.max(other.places);
        Self::new(self.widened(places)?.checked_add(other.widened(places)?)?, places)
    }

    pub(super) fn subtract(self, other: Self) -> Option<Self> {
        self.add(Self { units: -other.units, ..other })
    }

    pub(super) fn multiply(self, other: Self) -> Option<Self> {
        Self::new(self.units.checked_mul(other.units)?, self.places + other.places)
    }

    pub(super) fn order(self, other: Self) -> Ordering {
        let places = self.places.max(other.places);
        // Where one does not fit, its digits are more than all that the other can have.
        let of = |it: Self| it.units.saturating_mul(10_i128.pow(places - it.places));
        of(self).cmp(&of(other))
    }

    pub(super) fn is_zero(self) -> bool {
        self.units == 0
    }

    /// The nearest integer, of two the even one.
    pub(crate) fn integer(self) -> Option<i64> {
        let (whole, rest, unit) = self.cut(0);
        let is_up = match (2 * rest.unsigned_abs()).cmp(&unit.unsigned_abs()) {
            Ordering::Less => false,
            Ordering::Equal => whole % 2 != 0,
            Ordering::Greater => true,
        };
        i64::try_from(if is_up { whole + self.units.signum() } else { whole }).ok()
    }

    /// In units of the last of so many places, rounded as databases round what is put into such a column: halves away from 0.
    pub(crate) fn units(self, places: u8) -> Option<i64> {
        if let Some(units) = self.widened(places.into()) {
            return i64::try_from(units).ok();
        }
        let (whole, rest, unit) = self.cut(places.into());
        let is_up = 2 * rest.unsigned_abs() >= unit.unsigned_abs();
        i64::try_from(if is_up { whole + self.units.signum() } else { whole }).ok()
    }

    /// In units of the last of so many places, of which it has no more; `None` where it has, or has too many digits.
    fn widened(self, places: u32) -> Option<i128> {
        self.units.checked_mul(10_i128.pow(places.checked_sub(self.places)?))
    }

    /// What stands before and behind so many places, of which it has as many at least, and one unit of the last of them.
    fn cut(self, places: u32) -> (i128, i128, i128) {
        let unit = 10_i128.pow(self.places.saturating_sub(places));
        (self.units / unit, self.units % unit, unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal {
        Decimal::read(text.as_bytes()).unwrap()
    }

    fn text(decimal: Option<Decimal>) -> String {
        let mut out = Vec::new();
        decimal.unwrap().write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        for written in ["0", "-1", "0.05", "-0.05", "12.50", "99999999999999999999999999999999999999"] {
            assert_eq!(text(Some(of(written))), written);
            assert!(Decimal::is_written(written.as_bytes()), "{written}");
        }
        for other in ["", "-", ".5", "5.", "1e3", "NaN", "1.2.3", "+1", " 1"] {
            assert!(!Decimal::is_written(other.as_bytes()), "{other}");
        }
        assert_eq!(Decimal::read(&[b'9'; 39]), None);
        assert_eq!(Decimal::read(&[b'9'; 60]), None);
    }

    #[test]
    fn sums_and_products_are_exact_or_none() {
        assert_eq!(text(of("0.1").add(of("0.2"))), "0.3");
        assert_eq!(text(of("1").subtract(of("0.001"))), "0.999");
        assert_eq!(text(of("1234567890123.45").multiply(of("-0.07"))), "-86419752308.6415");
        let most = of(&"9".repeat(38));
        assert_eq!(most.add(of("1")), None);
        assert_eq!(most.multiply(most), None);
        assert_eq!(most.add(of("0.1")), None);
        assert_eq!(of("0.0000000000000000000001").multiply(of("0.0000000000000000000001")), None);
    }

    #[test]
    fn they_are_compared_by_their_values() {
        assert_eq!(of("1.50").order(of("1.5")), Ordering::Equal);
        assert_eq!(of("-1.5").order(of("1")), Ordering::Less);
        let (large, small) = (of(&"9".repeat(38)), of("0.00000000000000000000000000000000000001"));
        assert_eq!(large.order(small), Ordering::Greater);
        assert_eq!(of(&format!("-{}", "9".repeat(38))).order(small), Ordering::Less);
    }

    #[test]
    fn places_that_a_column_does_not_have_are_rounded() {
        assert_eq!(
            [of("1.005").units(2), of("-1.005").units(2), of("1.0049").units(2)].map(Option::unwrap),
            [101, -101, 100]
        );
        assert_eq!(of("1.5").units(2), Some(150));
        assert_eq!(of("99999999999999999999").units(2), None);
        let rounded = ["0.5", "1.5", "-0.5", "-1.5", "2.51", "-7"].map(|text| of(text).integer().unwrap());
        assert_eq!(rounded, [0, 2, 0, -2, 3, -7]);
    }
}
