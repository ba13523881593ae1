"""What the kinds of the DNS family share: options, desired records, entries of collections, provider responses."""
