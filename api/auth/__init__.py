"""Who is calling and what they may do: keys, tenants, access rules."""
