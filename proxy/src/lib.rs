//! Listeners, sessions and the skein binary
