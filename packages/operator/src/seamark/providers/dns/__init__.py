"""Where DNS records are: name servers by RFC 2136, webhook providers, and this process's memory."""
