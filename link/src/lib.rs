//! Being a Kafka client: dial, negotiate, ask
