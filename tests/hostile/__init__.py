"""Hostile tenants: every field that a tenant may write, tried with a corpus, beside a tenant who must not notice."""
