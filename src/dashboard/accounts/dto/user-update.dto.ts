import { IsPersonName } from './account-fields';

/** Body of `PATCH /dashboard/api/me`: the document's `UserUpdate`. */
export class UserUpdateDto {
  @IsPersonName()
  name!: string;
}
