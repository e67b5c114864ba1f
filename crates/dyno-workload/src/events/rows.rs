//! The rows as they are loaded. A row follows from its number alone, so that every server holds the same to the byte,
//! however a load was cut into parts, on whatever day, and with whatever seed of the run.

use super::{ACTIONS, Table};
use crate::dataset::{RowWriter, Rows};
use crate::random::Random;

/// Of the random streams of each table's rows. Changing these, the words or the draws changes the data:
/// the format of [`MARKS`](super::recipe::MARKS) has to follow.
const CUSTOMERS: u64 = 0x00c0_5701;
const EVENTS: u64 = 0x00e7_e274;

// Neither quotes nor backslashes nor tabs: each form takes the words as they are.
const FIRST_NAMES: [&str; 32] = [
    "Ada", "Alan", "Amira", "Anton", "Bao", "Carmen", "Chidi", "Dana", "Elif", "Emil", "Fatima", "Grace",
    "Hana", "Ines", "Ivan", "Jamal", "Karin", "Kofi", "Lena", "Liam", "Maya", "Mei", "Noor", "Olga", "Omar",
    "Priya", "Rosa", "Sven", "Tariq", "Uma", "Yuki", "Zoe",
];
const LAST_NAMES: [&str; 32] = [
    "Abebe", "Andersen", "Bauer", "Chen", "Costa", "Diaz", "Dubois", "Eriksen", "Fischer", "Garcia",
    "Haddad", "Ito", "Jansen", "Kaya", "Kim", "Kowalski", "Lopez", "Meyer", "Moreau", "Nguyen", "Novak",
    "Okafor", "Patel", "Popov", "Rossi", "Sato", "Silva", "Smith", "Tanaka", "Wagner", "Weber", "Yilmaz",
];
const STREETS: [&str; 16] = [
    "Acacia Avenue",
    "Bridge Street",
    "Canal Road",
    "Church Lane",
    "Garden Street",
    "Harbour Road",
    "High Street",
    "King Street",
    "Lake View",
    "Market Square",
    "Mill Lane",
    "Oak Avenue",
    "Park Road",
    "Rose Street",
    "Station Road",
    "Windmill Hill",
];
const CITIES: [&str; 16] = [
    "Aarhus", "Accra", "Bergen", "Brno", "Cordoba", "Graz", "Hue", "Izmir", "Kyoto", "Lille", "Lisbon",
    "Mysore", "Porto", "Quito", "Tampere", "Utrecht",
];

/// The rows of a table.
#[derive(Debug)]
pub(super) struct EventsRows {
    pub table: Table,
    /// Events are of customers 1 to this.
    pub customers: u64,
}

impl EventsRows {
    /// Two integers of at most 10 digits with an action, or one with three names and two words, and the signs.
    const ROW_BYTES_MAX: usize = 128;
}

impl Rows for EventsRows {
    fn row_bytes_max(&self) -> usize {
        Self::ROW_BYTES_MAX
    }

    #[inline]
    fn write(&mut self, number: u64, row: &mut impl RowWriter) {
        row.integer(number);
        match self.table {
            Table::Customer => {
                let mut random = Random::of_client(CUSTOMERS, number as u32);
                let mut word = |words: &[&'static str]| words[random.below(words.len() as u64) as usize];
                let name = [word(&FIRST_NAMES), " ", word(&LAST_NAMES)];
                let place = [word(&STREETS), ", ", word(&CITIES)];
                row.text(|text| name.iter().for_each(|part| text.extend_from_slice(part.as_bytes())));
                row.text(|text| {
                    let house = random.between(1, 999);
                    text.extend_from_slice(itoa::Buffer::new().format(house).as_bytes());
                    text.push(b' ');
                    place.iter().for_each(|part| text.extend_from_slice(part.as_bytes()));
                });
            }
            Table::Event => {
                let mut random = Random::of_client(EVENTS, number as u32);
                row.integer(random.below(self.customers) + 1);
                let action = ACTIONS[random.below(ACTIONS.len() as u64) as usize];
                row.text(|text| text.extend_from_slice(action.as_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::dataset::rows::{Form, RowRange};

    const ROW_BYTES_MAX: usize = EventsRows::ROW_BYTES_MAX;

    fn pieces(table: Table, form: Form, first: u64, last: u64, capacity: usize) -> Vec<String> {
        let mut rows = RowRange { rows: EventsRows { table, customers: 500 }, next: first, last };
        let (mut pieces, mut count) = (Vec::new(), 0);
        loop {
            let mut buffer = Vec::with_capacity(capacity);
            match rows.fill(form, &mut buffer) {
                0 => break,
                added => count += added,
            }
            assert!(buffer.len() <= capacity, "the buffer must not grow");
            pieces.push(String::from_utf8(buffer).unwrap());
        }
        assert_eq!(count, (last + 1).saturating_sub(first));
        pieces
    }

    fn lines(table: Table, first: u64, last: u64) -> String {
        pieces(table, Form::Lines, first, last, 65_536).concat()
    }

    /// Data that is there was made by an earlier dyno, perhaps: these rows must never change under one format.
    #[test]
    fn the_rows_are_fixed_for_good() {
        let customers = "1\tRosa Ito\t381 Garden Street, Aarhus\n2\tAlan Bauer\t11 King Street, Quito\n";
        assert_eq!(lines(Table::Customer, 1, 2), customers);
        let events = "1\t50\tadd to cart\n2\t290\twrite review\n3\t61\tlogin\n";
        assert_eq!(lines(Table::Event, 1, 3), events);
    }

    #[test]
    fn neither_parts_nor_pieces_change_the_rows() {
        for table in Table::ALL {
            let whole = lines(table, 1, 2_000);
            assert_eq!(lines(table, 1, 700) + &lines(table, 701, 2_000), whole);
            assert_eq!(pieces(table, Form::Lines, 1, 2_000, ROW_BYTES_MAX).concat(), whole);
            assert_eq!(lines(table, 5, 4), "");
        }
    }

    #[test]
    fn events_are_of_all_customers_and_all_actions() {
        let text = lines(Table::Event, 1, 20_000);
        let (mut customers, mut actions) = (HashSet::new(), HashSet::new());
        for (line, id) in text.lines().zip(1..) {
            let values: Vec<&str> = line.split('\t').collect();
            assert_eq!((values.len(), values[0].parse()), (3, Ok(id)));
            customers.insert(values[1].parse::<u64>().unwrap());
            actions.insert(values[2]);
        }
        assert_eq!(customers, (1..=500).collect());
        assert_eq!(actions, ACTIONS.into_iter().collect());
    }

    #[test]
    fn tuples_hold_the_values_of_the_lines() {
        for table in Table::ALL {
            let tuples = pieces(table, Form::Tuples { backslashes: false }, 1, 50, 4 * ROW_BYTES_MAX);
            assert!(tuples.len() > 1);
            let plain = tuples.iter().map(|piece| {
                let inner = piece.strip_prefix('(').and_then(|piece| piece.strip_suffix("')")).unwrap();
                // The number of an event's customer stands without quotes.
                inner.replace("'), (", "\n").replace("', '", "\t").replace(", '", "\t").replace(", ", "\t")
                    + "\n"
            });
            let lines = lines(table, 1, 50).replace(", ", "\t");
            assert_eq!(plain.collect::<String>(), lines);
        }
    }

    /// The longest row that there can be fits, with the signs of either form.
    #[test]
    fn a_row_is_at_most_as_long_as_was_reckoned() {
        let longest = |words: &[&str]| words.iter().map(|word| word.len()).max().unwrap_or(0);
        let name = longest(&FIRST_NAMES) + 1 + longest(&LAST_NAMES);
        let address = 4 + longest(&STREETS) + 2 + longest(&CITIES);
        assert!(name <= 100 && address <= 200);
        let signs = ", (, '', '')".len();
        assert!(10 + name + address + signs <= ROW_BYTES_MAX);
        assert!(20 + longest(&ACTIONS) + signs <= ROW_BYTES_MAX && longest(&ACTIONS) <= 30);
        let words = [&FIRST_NAMES[..], &LAST_NAMES, &STREETS, &CITIES, &ACTIONS].concat();
        assert!(words.iter().all(|word| word.is_ascii() && !word.contains(['\'', '\\', '\t', '\n'])));
    }
}
