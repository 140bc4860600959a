import ArgumentParser
import Bus
import Client
import Foundation
import Workouts

extension Pacebus {
    struct Invite: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "invite", abstract: "Creates a virtual run and invites others, or invites others to --run.",
            discussion: """
                A run of two waits for both to confirm once the other accepts. A run of more waits for begin. A runner can \
                be a ghost: an earlier session or a pacing partner.
                """)

        @Argument(help: "The users to invite; none if there is a ghost.")
        var users: [User] = []

        @Option(help: "The goal in metres, 100 to 500000. (default: none; the longest distance wins)")
        var distance: Double?

        @Option(help: "The goal as seconds, m:ss or h:mm:ss, 1 minute to 24 hours.")
        var duration: ClockTime?

        @Option(help: "A pacing partner's time for a kilometre as seconds or m:ss, 2:00 to 30:00.")
        var pace: ClockTime?

        @Option(help: "An earlier session to run against: a UUID, or USER/UUID of another runner who shares it.")
        var ghost: [GhostArgument] = []

        @Option(help: "active compares active time, gun the time since the start, pauses included. (default: active)")
        var clock: RunClock?

        @Flag(help: "Each runner begins at a time of their own, within 24 hours.")
        var rolling = false

        @Option(help: "When the run begins at the earliest: 18:30, or 2026-11-30T18:30 up to 7 days ahead.")
        var at: LocalTime?

        @Option(help: "The run's name, 1 to 200 bytes.")
        var name: String?

        @Option(help: "The run to invite to, a UUID. Its settings do not change. (default: a new run)")
        var run: RunID?

        @OptionGroup var sharing: SharingOptions
        @OptionGroup var options: UserOptions

        func validate() throws {
            guard Set(users).count == users.count else { throw ValidationError("each user can be invited once") }
            guard run == nil else {
                guard hasDefaults else { throw ValidationError("--run invites to a run as it is: omit other options") }
                guard !users.isEmpty else { throw ValidationError("missing users to invite to --run") }
                return
            }
            guard distance == nil || duration == nil else {
                throw ValidationError("--distance and --duration exclude each other")
            }
            try check(distance, "distance", RunGoal.distances, "100 to 500000 m")
            try check(duration?.seconds, "duration", RunGoal.durations, "1:00 to 24:00:00")
            try check(pace?.seconds, "pace", GhostSource.paces, "2:00 to 30:00 for a kilometre")
            guard !rolling || at == nil else { throw ValidationError("--rolling and --at exclude each other") }
            if let name, !(1...RunSettings.nameLimit).contains(name.utf8.count) || name.hasControlCharacters {
                throw ValidationError("invalid --name; allowed: 1 to 200 bytes without control characters")
            }
            guard ghosts.count <= RunSettings.ghostLimit else {
                throw ValidationError("\(ghosts.count) ghosts; allowed: at most \(RunSettings.ghostLimit)")
            }
            guard RunSettings.runners.contains(1 + users.count + ghosts.count) else {
                throw ValidationError(
                    "missing users; a run has 2 to \(RunSettings.runners.upperBound) runners: the user, invited people "
                        + "and ghosts")
            }
        }

        private var hasDefaults: Bool {
            distance == nil && duration == nil && ghosts.isEmpty && clock == nil && !rolling && at == nil && name == nil
                && sharing.change == Sharing.Change()
        }

        private func check(_ value: Double?, _ option: String, _ range: ClosedRange<Double>, _ text: String) throws {
            guard let value, !range.contains(value) else { return }
            throw ValidationError("invalid --\(option) '\(value)'; allowed: \(text)")
        }

        private var ghosts: [GhostSource] { ghost.map(\.source) + (pace.map { [.pace($0.seconds)] } ?? []) }

        func request() -> ControlService.Request {
            if run != nil { return .virtualRun(.act(.invite(users), run, .invitable)) }
            var settings = RunSettings()
            settings.name = name
            settings.goal = distance.map(RunGoal.distance) ?? duration.map { .duration($0.seconds) }
            settings.start = rolling ? .rolling : .together
            settings.clock = clock ?? .active
            settings.scheduledAt = at?.time
            return .virtualRun(.create(RunProposal(settings, invite: users, ghosts: ghosts, sharing: sharing.change)))
        }
    }
}

/// A time as seconds, `m:ss` or `h:mm:ss`.
struct ClockTime: ExpressibleByArgument {
    let seconds: Double

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in part.allSatisfy(\.isNumber) ? Double(part) : nil }
        guard numbers.count == parts.count, (1...3).contains(parts.count), numbers.dropFirst().allSatisfy({ $0 < 60 })
        else { return nil }
        seconds = numbers.reduce(0) { $0 * 60 + $1 }
    }
}

/// A ghost's session, of the user or of another one.
struct GhostArgument: ExpressibleByArgument {
    let source: GhostSource

    init?(argument: String) {
        if let session = SessionID(argument) {
            source = .session(nil, session)
        } else if let key = SessionKey(argument) {
            source = .session(key.user, key.session)
        } else {
            return nil
        }
    }
}

/// A moment in this machine's time zone: the next `18:30`, or `2026-11-30T18:30`.
struct LocalTime: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) { self.init(argument, now: Date()) }

    init?(_ text: String, now: Date) {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone.current
        format.dateFormat = "yyyy-MM-dd'T'HH:mm"
        if let date = format.date(from: text) {
            time = Timestamp(seconds: date.timeIntervalSince1970)
            return
        }
        let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let hour = numbers[0], let minute = numbers[1],
            let date = Calendar.current.nextDate(
                after: now, matching: DateComponents(hour: hour, minute: minute), matchingPolicy: .nextTime)
        else { return nil }
        time = Timestamp(seconds: date.timeIntervalSince1970)
    }
}
