import { Metrics } from './catalogue';
import { renderMetrics } from './exposition';

/** The series of a process that has recorded nothing: build information and the metrics without labels. */
const WITHOUT_LABELS = new Metrics().size - 1;

const linesOf = async (metrics: Metrics): Promise<string[]> => (await renderMetrics(metrics.registry)).split('\n');

describe('the cap on time series', () => {
  it('sends observations beyond it to the series "other" and counts them by metric', async () => {
    const metrics = new Metrics({ maxSeries: 100 });
    for (let index = 0; index < 10_000; index++) metrics.credentialRefused.of(`provider-${index}`).inc();
    await metrics.refresh();
    const lines = await linesOf(metrics);
    const ofMetric = lines.filter((line) => line.startsWith('gateway_credential_refused_total{'));
    const dropped = Number(/\d+$/.exec(ofMetric.find((line) => line.includes('"other"')) ?? '')?.[0]);
    expect(ofMetric.length + dropped).toBe(10_001);
    expect(ofMetric.length).toBeLessThan(100);
    expect(lines).toContain(`gateway_series_dropped_total{metric="gateway_credential_refused_total"} ${dropped}`);
    expect(lines).toContain(`gateway_series 100`);
  });

  it('counts a histogram with its buckets, and releases the series of a gauge that is cleared', () => {
    const metrics = new Metrics({ maxSeries: WITHOUT_LABELS + 1 + 20 + 15 });
    for (const round of ['a', 'b', 'c']) {
      metrics.modelRoutable.clear();
      for (let index = 0; index < 20; index++) metrics.modelRoutable.of(`${round}-${index}`).set(1);
    }
    metrics.firstToken.of('model').observe(1);
    metrics.firstToken.of('further').observe(1);
    return expect(linesOf(metrics)).resolves.toEqual(
      expect.arrayContaining([
        'gateway_model_routable{model="c-19"} 1',
        'gateway_first_token_seconds_count{model="model"} 1',
        'gateway_first_token_seconds_count{model="other"} 1',
        'gateway_series_dropped_total{metric="gateway_first_token_seconds"} 1',
      ]),
    );
  });
});
