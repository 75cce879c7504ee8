import { itLimits } from './limiter-suite';

describe('the limiter', () => itLimits(() => ({})));
