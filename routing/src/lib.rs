//! Where a message goes: the graph of routers and the engine that runs it
