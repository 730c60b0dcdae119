"""From a list of packages to text shards: fetch, check licences, filter, scrub, remove duplicates."""
