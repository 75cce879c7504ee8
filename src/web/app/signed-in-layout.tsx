import { Outlet } from '@tanstack/react-router';
import { Shell } from './shell';
import { SignInAgain } from './sign-in-again';

export function SignedInLayout() {
  return (
    <>
      <Shell>
        <Outlet />
      </Shell>
      <SignInAgain />
    </>
  );
}
