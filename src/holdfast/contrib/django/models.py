"""No models: the schema is its own. Django tells only apps that have this module when it has migrated."""
