//! The common name of a certificate's subject. PostgreSQL's documentation makes certificates that have their
//! host's name there and nowhere else, and its clients accept them; webpki does not look at it.

use dyno_wire::der::{FIRST_OPTIONAL, INTEGER, OBJECT_IDENTIFIER, SEQUENCE, SET, take};

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// UTF8String, PrintableString, TeletexString and IA5String: the kinds in which names of hosts are written.
const TEXT_TAGS: [u8; 4] = [0x0c, 0x13, 0x14, 0x16];

/// The first common name of a DER certificate's subject; `None` where there is none or it is not text.
pub(super) fn of_certificate(mut der: &[u8]) -> Option<String> {
    let mut certificate = take(&mut der, SEQUENCE)?;
    let mut body = take(&mut certificate, SEQUENCE)?;
    // The version, which may be left out.
    take(&mut body, FIRST_OPTIONAL);
    take(&mut body, INTEGER)?;
    // Signature algorithm, issuer, validity.
    for _ in 0..3 {
        take(&mut body, SEQUENCE)?;
    }
    let mut subject = take(&mut body, SEQUENCE)?;
    while !subject.is_empty() {
        let mut attributes = take(&mut subject, SET)?;
        while !attributes.is_empty() {
            let mut attribute = take(&mut attributes, SEQUENCE)?;
            if take(&mut attribute, OBJECT_IDENTIFIER)? == COMMON_NAME {
                let tag = *attribute.first().filter(|tag| TEXT_TAGS.contains(tag))?;
                let text = String::from_utf8(take(&mut attribute, tag)?.to_vec()).ok()?;
                // A name with a zero in it is an old trick to be taken for a shorter one.
                return (!text.contains('\0')).then_some(text);
            }
        }
    }
    None
}

/// Whether a common name stands for a host: the same, or `*.` for its first label.
pub(super) fn matches(common_name: &str, host: &str) -> bool {
    let (name, host) = (common_name.to_ascii_lowercase(), host.to_ascii_lowercase());
    if let Some(domain) = name.strip_prefix("*.") {
        return host.parse::<std::net::IpAddr>().is_err()
            && host.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest == domain);
    }
    name == host
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wildcards_stand_for_one_label() {
        assert!(matches("Db.Example", "db.example"));
        assert!(matches("*.example", "db.example"));
        for host in ["example", "a.db.example", ".example", "db.example.org", "127.0.0.1"] {
            assert!(!matches("*.example", host), "{host}");
        }
        assert!(!matches("*.0.0.1", "127.0.0.1"));
        assert!(matches("127.0.0.1", "127.0.0.1"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(der in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = of_certificate(&der);
        }

        #[test]
        fn damaged_nesting_is_read_without_a_panic(der in proptest::collection::vec(
            prop_oneof![Just(0x30u8), Just(0x31), Just(0x02), Just(0x06), Just(0xa0), Just(0x81), 0u8..40], 0..80)) {
            let _ = of_certificate(&der);
        }
    }
}
