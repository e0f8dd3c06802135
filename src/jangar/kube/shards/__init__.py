"""Work shared by several processes: shards held by Leases, spread evenly, handed over without a second writer."""
