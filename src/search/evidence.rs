//! Numbers with names: what speaks for a file or a unit.

/// Defines a struct of numbers, with their names and values in order.
macro_rules! evidence {
    ($(#[$of:meta])* $name:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$of])*
        #[derive(Debug, Clone, Copy, Default, serde::Serialize)]
        pub struct $name {
            $($(#[$doc])* pub $field: f32,)*
        }

        impl $name {
            /// Their names.
            pub const NAMES: &[&str] = &[$(stringify!($field)),*];

            /// Their values, in the same order.
            pub fn values(&self) -> Vec<f32> {
                vec![$(self.$field),*]
            }
        }
    };
}

pub(super) use evidence;
