"""`make report`: the latest results of bench, soak and simulation as one page with plots."""
