//! Names of users and passwords: what is the same, what is not allowed, and how SCRAM writes them.

use std::borrow::Cow;

/// Bytes of a name.
pub const MOST_NAME: usize = 255;
/// Bytes of a password.
pub const MOST_PASSWORD: usize = 1024;

/// A name in its one form (SASLprep, RFC 4013), or what is wrong with it.
///
/// Two texts that look the same are one user, and no name has a control character.
///
/// # Errors
/// It is empty, longer than [`MOST_NAME`], or has letters that no name may have.
pub fn name(text: &str) -> Result<Cow<'_, str>, &'static str> {
    let long = "a name of more than 255 bytes";
    // Before it is looked at: what SASLprep makes of a letter may be eighteen.
    if text.len() > MOST_NAME {
        return Err(long);
    }
    let prepared = stringprep::saslprep(text).map_err(|_| "a name with letters that none may have")?;
    match prepared.len() {
        0 => Err("an empty name"),
        length if length > MOST_NAME => Err(long),
        _ => Ok(prepared),
    }
}

/// Whether a text can be a password: one that clients cannot write in two ways.
///
/// RFC 5802 has both sides bring a password into one form; Kafka's own clients and brokers use the bytes as they are, others
/// do not. Where that would make a difference, a login would depend on the client.
///
/// # Errors
/// It is empty, longer than [`MOST_PASSWORD`], or SASLprep changes or refuses it.
pub fn password(text: &str) -> Result<(), &'static str> {
    match text.len() {
        0 => Err("an empty password"),
        length if length > MOST_PASSWORD => Err("a password of more than 1024 bytes"),
        _ if stringprep::saslprep(text).is_ok_and(|prepared| prepared == text) => Ok(()),
        _ => Err("a password with letters that not all clients write in the same way"),
    }
}

/// A name as SCRAM writes it: `,` and `=` would end it.
pub(crate) fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains([',', '=']) {
        Cow::Owned(name.replace('=', "=3D").replace(',', "=2C"))
    } else {
        Cow::Borrowed(name)
    }
}

/// A name that SCRAM has written. `None`: a `=` that stands for nothing.
pub(crate) fn unescaped(written: &str) -> Option<Cow<'_, str>> {
    let mut parts = written.split('=');
    let first = parts.next().unwrap_or_default();
    if first.len() == written.len() {
        return Some(Cow::Borrowed(written));
    }
    let mut name = first.to_owned();
    for part in parts {
        let (letter, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            (None, None) => return None,
        };
        name.push(letter);
        name.push_str(rest);
    }
    Some(Cow::Owned(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_the_same_are_one() {
        // The examples of RFC 4013.
        for (text, one) in [("I\u{ad}X", "IX"), ("user", "user"), ("USER", "USER"), ("\u{aa}", "a"), ("\u{2168}", "IX")]
        {
            assert_eq!(name(text).as_deref(), Ok(one));
        }
        for wrong in ["\u{7}", "\u{627}1", "", "\u{ad}", "a\nb", "a\0b"] {
            assert!(name(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn names_and_passwords_have_a_length() {
        assert!(name(&"a".repeat(255)).is_ok() && name(&"a".repeat(256)).is_err());
        // One letter becomes eighteen.
        assert!(name(&"\u{fdfa}".repeat(80)).is_err());
        assert!(password(&"a".repeat(1024)).is_ok() && password(&"a".repeat(1025)).is_err());
    }

    #[test]
    fn a_password_is_written_in_one_way_only() {
        for (text, is_one) in [("a b,=!", true), ("ü", true), ("u\u{308}", false), ("\u{fb01}", false), ("a\n", false)]
        {
            assert_eq!(password(text).is_ok(), is_one, "{text:?}");
        }
    }

    #[test]
    fn what_is_escaped_comes_back() {
        for text in ["", "a", "a,b", "a=b", "=2C", ",=,", "=3D="] {
            let written = escaped(text);
            assert!(!written.contains(',') && unescaped(&written).as_deref() == Some(text), "{text} {written}");
        }
        for wrong in ["=", "a=", "a=2", "a=2c", "=3D=x"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }
}
