import { whenSignedIn } from '../../api/sign-in';

let handed: string | null = null;

whenSignedIn(forgetHandedRequest);

/** Keeps the body of a request for the form of the Explain page, which opens next. */
export function handRequest(body: object): void {
  handed = JSON.stringify(body, null, 2);
}

/** The body that another page has handed over; null without one. */
export function handedRequest(): string | null {
  return handed;
}

export function forgetHandedRequest(): void {
  handed = null;
}
