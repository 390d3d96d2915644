//! What changes or answers a message on its way
