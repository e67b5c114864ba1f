//! A value that says nothing beyond its default.

/// Whether it is left out when it is written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
