"""Helpers that tests share: servers, a faulty network. No tests live here."""
