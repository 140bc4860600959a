import Bus
import Foundation
import ServiceKit
import Storage
import Workouts

/// The stored record of a user's notifications: registered devices and the alerts that views asked for.
struct NotificationRecord: Codable, Equatable, Sendable {
    static let deviceLimit = 8
    /// Accepted registrations that are remembered, so that repeats are idempotent.
    static let answeredLimit = 32
    /// Alerts that are remembered, besides those to confirm: each of these needs a run that the user has joined. At the
    /// limit, alerts that are over make room for new ones.
    static let alertLimit = 100
    /// How long an alert is remembered after its end, in seconds: a view may come late or extend it.
    static let memory = 3_600.0
    /// The longest time from the start of confirming to its end, in seconds: 60, and once again for a late accept.
    private static let longestConfirming = 120.0

    struct RegisteredDevice: Codable, Equatable, Sendable {
        let device: Device
        var token: PushToken
        /// When the token was registered, compared with the time of a deletion.
        var registeredAt: Timestamp
    }

    struct Alert: Codable, Equatable, Sendable {
        let run: RunID
        let kind: RunAlert.Kind
        /// When the user was invited, or accepted.
        let at: Timestamp
        var expiresAt: Moment
        /// The devices that have still to receive it, each with the `apns-id` of every attempt.
        var pending: [Device: UUID]
        /// Whether the view no longer asks for it.
        var isOver = false

        func isOf(_ alert: RunAlert?) -> Bool { alert.map { (run, kind, at) == ($0.run, $0.kind, $0.at) } ?? false }
    }

    /// Sorted by the devices' names.
    private(set) var devices: [RegisteredDevice] = []
    /// The latest registrations that were accepted, oldest first.
    private(set) var answered: [CommandID] = []
    private(set) var alerts: [Alert] = []

    /// `user` → a record as JSON, in the user's shard.
    static let notifications = StoreCollection("notifications")

    subscript(device: Device) -> RegisteredDevice? { devices.first { $0.device == device } }

    /// Limits deadlines that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        for index in alerts.indices {
            alerts[index].expiresAt = Self.limit(alerts[index].expiresAt, of: alerts[index].kind, now)
        }
    }

    private static func limit(_ end: Moment, of kind: RunAlert.Kind, _ now: Moment) -> Moment {
        end.atMost(now + (kind == .confirm ? longestConfirming : RunSettings.horizon))
    }

    // MARK: Devices

    func hasAnswered(_ id: CommandID) -> Bool { answered.contains(id) }

    mutating func take(_ registration: NotificationRegistration, _ now: Moment) {
        if answered.count == Self.answeredLimit { answered.removeFirst() }
        answered.append(registration.id)
        guard case .register(let digits, let environment) = registration.action else {
            return remove(registration.device)
        }
        let token = PushToken(token: digits, environment: environment)
        // One app has one token: a new device name replaces the old one.
        for other in devices where other.token == token && other.device != registration.device {
            for index in alerts.indices {
                guard let id = alerts[index].pending.removeValue(forKey: other.device) else { continue }
                alerts[index].pending[registration.device] = id
            }
            remove(other.device)
        }
        let device = RegisteredDevice(device: registration.device, token: token, registeredAt: now.wallClock)
        devices.removeAll { $0.device == device.device }
        devices.insert(device, at: devices.count { $0.device < device.device })
    }

    /// Removes a device and its pending alerts.
    mutating func remove(_ device: Device) {
        devices.removeAll { $0.device == device }
        for index in alerts.indices { alerts[index].pending[device] = nil }
    }

    /// Removes the devices that were registered before the user deleted everything.
    mutating func erase(before time: Timestamp) {
        for device in devices where device.registeredAt <= time { remove(device.device) }
    }

    // MARK: Alerts

    /// Follows what the newest view of a run asks for: other alerts of the run are over, and a new one is due on all
    /// devices.
    ///
    /// - Returns: `false` if the limit drops the alert.
    mutating func follow(_ run: RunID, _ alert: RunAlert?, _ now: Moment) -> Bool {
        alerts.removeAll { $0.expiresAt + Self.memory <= now }
        // The alert of an earlier invitation.
        alerts.removeAll { $0.run == run && $0.kind == alert?.kind && !$0.isOf(alert) }
        for index in alerts.indices where alerts[index].run == run {
            alerts[index].isOver = !alerts[index].isOf(alert)
            if alerts[index].isOver { alerts[index].pending = [:] }
        }
        guard let alert else { return true }
        let expiresAt = Self.limit(now.when(alert.expiresAt), of: alert.kind, now)
        if let index = alerts.firstIndex(where: { $0.isOf(alert) }) {
            // The same time of a wall clock that stepped backwards is no later end.
            if alerts[index].expiresAt.wallClock != alert.expiresAt { alerts[index].expiresAt = expiresAt }
            return true
        }
        guard !devices.isEmpty, now < expiresAt else { return true }
        while alerts.count >= Self.alertLimit, let oldest = alerts.firstIndex(where: \.isOver) {
            alerts.remove(at: oldest)
        }
        guard alert.kind == .confirm || alerts.count < Self.alertLimit else { return false }
        let pending = devices.map { ($0.device, UUID()) }
        alerts.append(
            Alert(
                run: run, kind: alert.kind, at: alert.at, expiresAt: expiresAt,
                pending: Dictionary(uniqueKeysWithValues: pending)))
        return true
    }

    /// The pending alert with this `apns-id`, and its device.
    func pending(_ id: UUID) -> (alert: Alert, device: RegisteredDevice)? {
        for alert in alerts {
            guard let name = alert.pending.first(where: { $0.value == id })?.key, let device = self[name] else {
                continue
            }
            return (alert, device)
        }
        return nil
    }

    /// The alert is delivered.
    mutating func settle(_ id: UUID) {
        for index in alerts.indices { alerts[index].pending = alerts[index].pending.filter { $0.value != id } }
    }
}
