// Loaded into a gateway with NODE_OPTIONS=--require: shifts its wall clock by CLOCK_SKEW_MS.
const RealDate = Date;
const skewMs = Number(process.env.CLOCK_SKEW_MS);

globalThis.Date = class Date extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + skewMs);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + skewMs;
  }
};
