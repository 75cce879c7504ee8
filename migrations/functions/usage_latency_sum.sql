-- Adds up latency counters, one element for each counter, in order; NULL without any. An element is 256 times the number of
-- requests plus the counter: `usage_latency_step` of the total time, or 128 more than that of the time to the first token.
CREATE OR REPLACE FUNCTION usage_latency_sum(p_elements bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE
AS $$
  SELECT array_agg(requests * 256 + counter ORDER BY counter)
    FROM (SELECT element & 255 AS counter, sum(element >> 8)::bigint AS requests
            FROM unnest(p_elements) AS element GROUP BY 1) counters
$$;
