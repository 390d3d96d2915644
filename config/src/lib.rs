//! TOML in, a checked blueprint out
