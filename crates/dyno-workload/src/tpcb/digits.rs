//! Whole numbers as people read them: `21,747`.

/// Puts a comma before every third digit of an integer.
#[must_use]
pub fn grouped(number: impl ToString + Copy) -> String {
    let number = number.to_string();
    let (sign, digits) = number.split_at(usize::from(number.starts_with('-')));
    let mut grouped = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn every_third_digit_is_set_apart() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (-999, "-999"),
            (-21_747, "-21,747"),
            (1_000_000, "1,000,000"),
        ] {
            assert_eq!(grouped(number), shown);
        }
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }
}
