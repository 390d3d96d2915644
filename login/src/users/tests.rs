use super::*;

fn written(hash: Hash, iterations: u32) -> String {
    Stored::new(hash, "word", iterations).unwrap().written()
}

fn file(users: &[(&str, u32)]) -> String {
    let line = |(name, iterations): &(&str, u32)| {
        format!("{name} = {{ scram-sha-256 = \"{}\" }}\n", written(Hash::Sha256, *iterations))
    };
    format!("[users]\n{}", users.iter().map(line).collect::<String>())
}

#[test]
fn a_file_is_read() {
    let users = Users::parse(file(&[("alice", 4096), ("\"bob, the = \"", 4096)]).as_bytes()).unwrap();
    assert_eq!(users.len(), 2);
    assert!(users.stored("alice", Hash::Sha256).unwrap().is_of("word"));
    assert!(users.stored("alice", Hash::Sha512).is_none() && users.any("bob, the = ").is_some());
    assert!(Users::parse(b"[users]").unwrap().is_empty());
}

#[test]
fn faults_say_where_and_repeat_no_credential() {
    let good = written(Hash::Sha256, 4096);
    for (file, line, wanted) in [
        ("".to_owned(), 1, "without `users`"),
        ("[users]\na = 3".to_owned(), 2, "is an integer"),
        (format!("[users]\n\na = {{ scram-sha-1 = \"{good}\" }}"), 3, "no key of a user"),
        (format!("[users]\na = {{ scram-sha-512 = \"{good}\" }}"), 2, "of the form SCRAM-SHA-512$"),
        (format!("[users]\na = {{ scram-sha-256 = \"{good}\" }}\nb = \"{good}"), 3, "invalid basic string"),
        (format!("[users]\n\"\" = {{ scram-sha-256 = \"{good}\" }}"), 2, "an empty name"),
        (format!("[users]\n\"\u{aa}\" = {{ scram-sha-256 = \"{good}\" }}"), 2, "another way to write `a`"),
        ("[users]\nx = { scram-sha-256 = \"${HOME}\" }".to_owned(), 2, "is not set"),
        (format!("decoys = \"{}\"\n[users]", &good[14..]), 1, "is not 32 bytes in base64"),
        ("decoys = \"QUJD\"\n[users]".to_owned(), 1, "is not 32 bytes in base64"),
    ] {
        let wrong = Users::parse(file.as_bytes()).unwrap_err();
        let said = wrong.to_string();
        assert_eq!(wrong.faults[0].0, line, "{said}");
        assert!(said.contains(wanted) && !said.contains(&good[14..]), "{said}");
    }
    assert!(Users::parse(&[0xff]).unwrap_err().to_string().contains("UTF-8"));
    assert!(Users::parse(&vec![b' '; MOST_BYTES + 1]).unwrap_err().to_string().contains("16 MiB"));
}

#[test]
fn nobody_looks_like_most_users() {
    let users = Users::parse(file(&[("a", 4096), ("b", 16384), ("c", 16384)]).as_bytes()).unwrap();
    let decoys = Decoys::new().unwrap();
    let decoy = decoys.stored(&users, "nobody", Hash::Sha256);
    assert_eq!(Cost::of(&decoy), Cost::of(users.any("b").unwrap()));
    assert_eq!(Cost::of(&decoys.any(&users, "nobody")), Cost::of(users.any("b").unwrap()));
    assert_eq!(decoy, decoys.clone().stored(&users, "nobody", Hash::Sha256), "it stays");
    assert_ne!(decoy.salt, decoys.stored(&users, "somebody", Hash::Sha256).salt);
    assert_ne!(decoy.salt, decoys.stored(&users, "nobody", Hash::Sha512).salt);
    assert_ne!(decoy.salt, Decoys::new().unwrap().stored(&users, "nobody", Hash::Sha256).salt);
    assert_ne!(*decoy.stored_key, *decoy.server_key);
}

#[test]
fn who_has_a_copy_of_a_file_says_the_same_of_nobody_and_that_stays_as_users_come_and_go() {
    let old = file(&[("alice", 4096)]);
    assert!(!Users::parse(old.as_bytes()).unwrap().has_decoys());
    let mut edited = UserFile::parse(old.as_bytes()).unwrap();
    edited.add("bob", "word", 4096).unwrap();
    let first = edited.to_string();
    // Each instance has others of its own, which no longer matter.
    let nobody = |file: &str| {
        let users = Users::parse(file.as_bytes()).unwrap();
        assert!(users.has_decoys());
        let own = Decoys::new().unwrap();
        let decoys = users.decoys(&own);
        (decoys.stored(&users, "nobody", Hash::Sha256), decoys.any(&users, "nobody"))
    };
    assert_eq!(nobody(&first), nobody(&first));
    let mut edited = UserFile::parse(first.as_bytes()).unwrap();
    edited.add("carol", "word", 4096).unwrap();
    assert!(edited.remove("bob"));
    assert_eq!(nobody(&edited.to_string()), nobody(&first));
    let listed: Vec<_> = edited.list().into_iter().map(|user| user.name).collect();
    assert_eq!(listed, ["alice", "carol"]);
    let mut another = UserFile::parse(b"").unwrap();
    another.add("alice", "word", 4096).unwrap();
    assert_ne!(nobody(&another.to_string()).0.salt, nobody(&first).0.salt);
}

#[test]
fn users_come_and_go_and_what_stands_around_them_stays() {
    let before = format!("# ours\n\n{}# the last\n", file(&[("alice", 4096)]));
    let mut edited = UserFile::parse(before.as_bytes()).unwrap();
    assert_eq!(edited.add("bob", "pass", 4096), Ok(Added::New));
    assert_eq!(edited.add("alice", "other", 8192), Ok(Added::Replaced));
    let after = edited.to_string();
    assert!(after.starts_with("# ours\n\n# Who is no user") && after.ends_with("# the last\n"), "{after}");
    assert_eq!((after.matches("# ours").count(), after.matches("\"\n\n[users]\nalice").count()), (1, 1), "{after}");
    let users = Users::parse(after.as_bytes()).unwrap();
    assert!(users.stored("bob", Hash::Sha512).unwrap().is_of("pass"));
    assert!(users.stored("alice", Hash::Sha256).unwrap().is_of("other"));
    let listed: Vec<_> = edited.list().into_iter().map(|user| (user.name, user.kept[0].1.get())).collect();
    assert_eq!(listed, [("alice".to_owned(), 8192), ("bob".to_owned(), 4096)]);
    assert!(edited.remove("alice") && !edited.remove("alice"));
    assert_eq!(Users::parse(edited.to_string().as_bytes()).unwrap().len(), 1);
}

#[test]
fn a_file_begins_empty_and_one_with_a_fault_is_not_changed() {
    let mut edited = UserFile::parse(b"# a word\n").unwrap();
    edited.add("a b=c", "word", 4096).unwrap();
    assert_eq!(Users::parse(edited.to_string().as_bytes()).unwrap().len(), 1);
    assert!(
        edited.add("", "word", 4096).is_err() && edited.add("a", "", 4096).is_err() && edited.add("a", "b", 1).is_err()
    );
    for wrong in ["[users", "[other]\n", "users = 3", "[users]\na = 1"] {
        assert!(UserFile::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
