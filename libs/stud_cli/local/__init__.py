"""Everything on one machine: the log's server, the services, players. For trials and tests, never for production."""
