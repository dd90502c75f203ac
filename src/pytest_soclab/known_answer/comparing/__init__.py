"""Arms, the statistic and the results of a comparison live here; opening files and printing may not."""
