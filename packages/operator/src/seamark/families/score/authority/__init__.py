"""Accounts, roles and admission policies of the Score controllers."""
