package import Workouts

/// How the Live Activities of a session stand, on `activity`.
package struct ActivityStatus: Codable, Equatable, Sendable {
    package enum Status: String, Codable, CaseIterable, Sendable {
        /// There is none yet: no device has registered a token, none may show it, or APNs cannot be asked.
        case pending
        case active
        /// Its stale date has passed without an update that APNs took.
        case stale
        /// It shows the end, until it is dismissed.
        case ended
        case dismissed
    }

    package struct DeviceStatus: Codable, Equatable, Sendable {
        package var device: Device
        package var status: Status

        package init(device: Device, status: Status) {
            self.device = device
            self.status = status
        }
    }

    package var session: SessionID
    package var user: User
    package var revision: Int64
    /// The best of the devices' own, in the order active, stale, pending, ended, dismissed.
    package var status: Status
    /// Each device that has registered, in the order of their names.
    package var devices: [DeviceStatus]
    /// Why a push was not taken the last time: a reason of APNs, or what was wrong with the connection.
    package var reason: String?

    package init(key: SessionKey, revision: Int64, status: Status, devices: [DeviceStatus], reason: String? = nil) {
        session = key.session
        user = key.user
        self.revision = revision
        self.status = status
        self.devices = devices
        self.reason = reason
    }
}
