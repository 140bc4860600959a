package import Workouts

/// The status of a session's Live Activities, on `activity`.
package struct ActivityStatus: Codable, Equatable, Sendable {
    package enum Status: String, Codable, CaseIterable, Sendable {
        /// No activity yet: no device registered a token, none allows it, or APNs is not configured.
        case pending
        case active
        /// The stale date passed without an update that APNs accepted.
        case stale
        /// The activity shows the end until it is dismissed.
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
    /// The best status of all devices, in the order active, stale, pending, ended, dismissed.
    package var status: Status
    /// All registered devices, sorted by name.
    package var devices: [DeviceStatus]
    /// The reason why the last push failed: a reason of APNs, or a connection error.
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
