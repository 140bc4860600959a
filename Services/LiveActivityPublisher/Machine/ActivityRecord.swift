import Bus
import Storage
import Workouts

/// What is stored of a session's Live Activities: who is to be told, and what is about to be sent.
///
/// It changes with tokens, states, starts, ends and statuses, and with the first update that tells of a state. With each
/// update it would be a write every 2 s for each session: it is enough to know that the activity is there, for the next one
/// is made of the newest snapshot anyway.
struct ActivityRecord: Codable, Equatable, Sendable {
    /// Devices that have not withdrawn.
    static let deviceLimit = 8
    /// With those whose activity is to be ended yet.
    private static let limit = 2 * deviceLimit
    /// Registrations that are remembered, so that their repetition is harmless.
    static let answeredLimit = 32

    /// By the devices' names.
    private(set) var devices: [DeviceActivity] = []
    /// The latest registrations that were accepted, oldest first.
    private(set) var answered: [CommandID] = []
    /// What was published last.
    var status: ActivityStatus?
    /// Why a push was not taken the last time.
    var reason: String?
    /// The revision of the newest `state`: a broker that lost power may bring back an older one.
    var stateRevision: Int64?
    /// The highest revision that was used or seen.
    var revision: Int64 = 0
    /// When the status changed last, by the service's clock.
    var changedAt: Timestamp

    init(changedAt: Timestamp) {
        self.changedAt = changedAt
    }

    /// `user/session` → a record as JSON.
    static let activities = StoreCollection("activities")
    static let schema = StoreSchema(service: "live-activity-publisher", steps: [[activities]])

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

    /// Who gives way: rather somebody who cannot be told the end.
    private var withdrawn: Int? {
        devices.firstIndex { $0.isWithdrawn && $0.updateToken == nil } ?? devices.firstIndex(where: \.isWithdrawn)
    }

    func hasAnswered(_ id: CommandID) -> Bool { answered.contains(id) }

    mutating func answer(_ id: CommandID) {
        if answered.count == Self.answeredLimit { answered.removeFirst() }
        answered.append(id)
    }
}
