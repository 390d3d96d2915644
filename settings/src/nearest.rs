//! The known name that a misspelt one is nearest to.

/// Beyond so many letters nothing known is near.
const LONGEST: usize = 64;
/// So many names are compared: who has more finds theirs in the file.
const COMPARED: usize = 200;
/// From this likeness on, of 1 for equal, a name may have been meant.
const ALIKE: f64 = 0.6;

/// The name in `known` that may have been meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    // `openRequests` and `open_requests` mean `open-requests`.
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let name = plain(name);
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&name, &plain(known));
    let rated = known
        .into_iter()
        .take(COMPARED)
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness >= ALIKE);
    rated.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_recognised() {
        let known = ["bootstrap", "nodes", "open-requests"];
        assert_eq!(nearest("bootstraps", known), Some("bootstrap"));
        assert_eq!(nearest("ndoes", known), Some("nodes"));
        assert_eq!(nearest("openRequests", known), Some("open-requests"));
        assert_eq!(nearest("password", known), None);
        assert_eq!(nearest(&"nodes".repeat(1000), known), None);
    }
}
