import Bus
import ServiceKit
import Storage
import Workouts

/// The stored record of a session's Live Activities: registered devices, their tokens and pending starts and ends.
///
/// It is written for tokens, states, starts, ends, statuses and the first update of each state, not for every update:
/// that would be a write every 2 s per session, and the next update is built from the newest snapshot anyway.
struct ActivityRecord: Codable, Equatable, Sendable {
    /// Devices that have not withdrawn.
    static let deviceLimit = 8
    /// The limit including withdrawn devices whose activity has not ended yet.
    private static let limit = 2 * deviceLimit
    /// Accepted registrations that are remembered, so that repeats are idempotent.
    static let answeredLimit = 32

    /// Sorted by the devices' names.
    private(set) var devices: [DeviceActivity] = []
    /// The latest registrations that were accepted, oldest first.
    private(set) var answered: [CommandID] = []
    /// The last published status.
    var status: ActivityStatus?
    /// The reason of the last failed push.
    var reason: String?
    /// The revision of the newest `state`: a broker that lost power may restore an older one.
    var stateRevision: Int64?
    /// The highest revision used or received.
    var revision: Int64 = 0
    /// The time of the last status change, by the service's clock.
    var changedAt: Moment

    init(changedAt: Moment) {
        self.changedAt = changedAt
    }

    /// `user/session` → a record as JSON.
    static let activities = StoreCollection("activities")
    static let schema = StoreSchema(
        service: "live-activity-publisher", steps: [[activities, NotificationRecord.notifications]])

    subscript(device: Device) -> DeviceActivity? {
        get { devices.first { $0.device == device } }
        set {
            let index = devices.firstIndex { $0.device == device }
            switch (index, newValue) {
            case (let index?, let newValue?): devices[index] = newValue
            case (let index?, nil): devices.remove(at: index)
            case (nil, let newValue?):
                if devices.count == Self.limit, let withdrawn { devices.remove(at: withdrawn) }
                devices.insert(newValue, at: devices.count { $0.device < device })
            case (nil, nil): break
            }
        }
    }

    /// Evicts a withdrawn device, preferably one without an update token.
    private var withdrawn: Int? {
        devices.firstIndex { $0.isWithdrawn && $0.updateToken == nil } ?? devices.firstIndex(where: \.isWithdrawn)
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        changedAt = changedAt.atMost(now)
        for index in devices.indices { devices[index].limit(to: now) }
    }

    func hasAnswered(_ id: CommandID) -> Bool { answered.contains(id) }

    mutating func answer(_ id: CommandID) {
        if answered.count == Self.answeredLimit { answered.removeFirst() }
        answered.append(id)
    }
}
