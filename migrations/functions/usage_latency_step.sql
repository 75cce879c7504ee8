-- The step of a duration: the number of these bounds that it reaches. Every millisecond below 32 has its own step; from there
-- on, four steps double the duration, so that the middle of a step is within 9 % of each duration in it. Above 4.6 hours there
-- is one step for all. `latency.ts` of src/billing/usage has the same bounds.
CREATE OR REPLACE FUNCTION usage_latency_step(p_ms integer) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$
  SELECT width_bucket(p_ms, ARRAY[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    31, 32, 38, 45, 54, 64, 76, 91, 108, 128, 152, 181, 215, 256, 304, 362, 431, 512, 609, 724, 861, 1024, 1218,
    1448, 1722, 2048, 2435, 2896, 3444, 4096, 4871, 5793, 6889, 8192, 9742, 11585, 13777, 16384, 19484, 23170, 27554,
    32768, 38968, 46341, 55109, 65536, 77936, 92682, 110218, 131072, 155872, 185364, 220436, 262144, 311744, 370728,
    440872, 524288, 623487, 741455, 881744, 1048576, 1246974, 1482910, 1763488, 2097152, 2493948, 2965821, 3526975,
    4194304, 4987896, 5931642, 7053950, 8388608, 9975792, 11863283, 14107901, 16777216
  ])::bigint
$$;
