//! The head that SCRAM and OAUTHBEARER share (RFC 5801): channel binding, and who the client wants to be.

use crate::name::unescaped;
use crate::why::Why;

/// A head and what follows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Headed<'m> {
    /// The head itself, its last comma included: SCRAM's proof covers it.
    pub(crate) head: &'m str,
    /// Who the client wants to be; empty: whoever it is.
    pub(crate) authzid: String,
    /// What follows.
    pub(crate) rest: &'m str,
}

/// Takes the head off a message.
pub(crate) fn headed(message: &str) -> Result<Headed<'_>, Why> {
    let (flag, after) = message.split_once(',').ok_or(Why::Malformed("its head is not closed"))?;
    match flag {
        // `y`: the client could bind and believes that Skein cannot, which is true.
        "n" | "y" => {}
        _ if flag.starts_with("p=") => return Err(Why::ChannelBinding),
        _ => return Err(Why::Malformed("its head begins with neither `n` nor `y`")),
    }
    let (written, rest) = after.split_once(',').ok_or(Why::Malformed("its head is not closed"))?;
    let authzid = match written.strip_prefix("a=") {
        _ if written.is_empty() => String::new(),
        Some(name) => unescaped(name).ok_or(Why::Malformed("a name with a `=` that stands for nothing"))?.into_owned(),
        None => return Err(Why::Malformed("its head has something else than a name")),
    };
    let head = message.get(..message.len() - rest.len()).unwrap_or_default();
    Ok(Headed { head, authzid, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_off() {
        let headed = |message| super::headed(message).map(|found| (found.head, found.authzid, found.rest));
        assert_eq!(headed("n,,n=a"), Ok(("n,,", String::new(), "n=a")));
        assert_eq!(headed("y,a=b=2Cc,"), Ok(("y,a=b=2Cc,", "b,c".to_owned(), "")));
        assert_eq!(headed("p=tls-unique,,n=a"), Err(Why::ChannelBinding));
        for wrong in ["", "n", "n,", "x,,", "n,b,", "n,a==,", "p,,", ",,"] {
            assert!(matches!(headed(wrong), Err(Why::Malformed(_))), "{wrong}");
        }
    }
}
