"""Has many machines measure the shards of one plan, over Dask.distributed; each shard in a process of its own."""
