/** The resources that bodies carry; each has one schema a version. */
export type Resource = ObjectResource | AccountResource | 'Error'

export type ObjectResource = 'Folder' | 'File' | 'Children' | 'ParentPath' | 'NewObject' | 'PlaceObject'

export type AccountResource =
  | 'User'
  | 'UserPage'
  | 'NewUser'
  | 'UserNames'
  | 'Password'
  | 'TwoFactor'
  | 'Invitee'
  | 'NewInvitee'
  | 'Device'
  | 'DeviceList'
  | 'DeviceName'
  | 'DeviceStatus'
  | 'Quota'
