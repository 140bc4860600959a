package import Formats
import Foundation
package import ServiceKit
package import Workouts

/// The source of a playback's steps and their pace.
package enum PlaybackScript: Sendable {
    case recording(RecordingFile)
    /// A run with `rate` samples a second. Without a seed a new queue draws one; without a duration, in whole seconds,
    /// the run never ends.
    case simulation(seed: UInt64?, duration: Int?, rate: Double = 1)

    /// Opens or creates the queue of this script.
    package func openQueue(
        in folder: QueueFolder, _ key: SessionKey, _ device: Device, now: Timestamp, joins: Bool,
        ticket: RunTicket? = nil
    ) throws(QueueError) -> QueueFile {
        switch self {
        case .recording(let file):
            let source = QueueHeader.Source.recording(fingerprint: file.fingerprint)
            return try folder.open(key, device, now: now, source: source, joins: joins) { $0 == source }
        case .simulation(let seed, _, let rate):
            let source = QueueHeader.Source.simulation(seed: seed ?? .random(in: 0 ... .max), rate: rate)
            return try folder.open(key, device, now: now, source: source, joins: joins, ticket: ticket) { stored in
                guard seed == nil, case .simulation(_, rate) = stored else { return stored == source }
                return true
            }
        }
    }

    /// The steps from the first on: the same for every process that resumes the queue.
    package func steps(_ header: QueueHeader) -> any IteratorProtocol<Step> {
        let steps: any IteratorProtocol<Step> =
            switch (self, header.source) {
            case (.recording(let file), _): file.recording.steps.makeIterator()
            case (.simulation(_, let duration, _), .simulation(let seed, let rate)):
                SimulatedRun(
                    seed: seed, start: header.beganAt, duration: duration, rate: rate, ticket: header.ticket)
            case (.simulation, .recording): preconditionFailure("the queue was opened for another script")
            }
        return header.joins ? ItemSteps(steps: steps) : steps
    }

    package func pace(_ header: QueueHeader, speed: Double, now: Moment) -> Pace {
        let origin =
            switch self {
            case .recording(let file): file.recording.segments[0].lowerBound
            case .simulation: header.beganAt
            }
        // Stored before the wall clock stepped backwards, it is in the future.
        return Pace(beganAt: now.when(header.beganAt).atMost(now), origin: origin, speed: speed)
    }

    /// The workout among those of its file, and what is special about it.
    var name: String? {
        guard case .recording(let file) = self, file.count > 1 else { return nil }
        let start = Date(timeIntervalSince1970: file.recording.start.seconds).formatted(.iso8601)
        return "activity \(file.number) of \(file.count), \(file.recording.activity.rawValue), \(start)"
    }

    /// What the user should know before the script is played.
    var remarks: [String] {
        guard case .recording(let file) = self else { return [] }
        let recording = file.recording
        return [
            file.cut.map { "the file is cut off at \($0): the workout ends with what was recorded before" },
            file.namesActivity || recording.activity != .other
                ? nil
                : "the file names no activity: it counts as other; choose with --activity, such as --activity running",
            recording.isMadeFromTotals ? "the file has no measurements: its totals are spread over its time" : nil,
            recording.samples.isEmpty ? "the file has no measurements and no totals but its time" : nil,
        ].compactMap(\.self)
    }

    /// The file's own totals.
    var totals: RecordedTotals? {
        guard case .recording(let file) = self else { return nil }
        return file.recording.totals
    }

    /// The number of items, if known.
    package var total: Int? {
        switch self {
        case .recording(let file): file.recording.samples.count + file.recording.locations.count
        case .simulation(_, let duration, let rate): duration.map { 2 * (SimulatedRun.lastNumber($0, rate: rate) + 1) }
        }
    }
}

/// The items among steps: the contribution of a device that joins a session.
private struct ItemSteps: IteratorProtocol {
    var steps: any IteratorProtocol<Step>

    mutating func next() -> Step? {
        while let step = steps.next() {
            switch step.kind {
            case .sample, .location: return step
            case .command: continue
            }
        }
        return nil
    }
}

/// The steps that a queue does not hold yet. After a crash it may hold more items of one kind than of the other.
struct RemainingSteps: IteratorProtocol {
    private var steps: any IteratorProtocol<Step>
    private var samples: Int
    private var locations: Int
    private var commands: Int

    init(_ steps: any IteratorProtocol<Step>, after contents: QueueContents) {
        self.steps = steps
        samples = contents.samples.items.count
        locations = contents.locations.items.count
        commands = contents.commands.count
    }

    mutating func next() -> Step? {
        while let step = steps.next() {
            switch step.kind {
            case .sample where samples > 0: samples -= 1
            case .location where locations > 0: locations -= 1
            case .command where commands > 0: commands -= 1
            case .sample, .location, .command: return step
            }
        }
        return nil
    }
}

/// The times at which the steps of a playback are due.
package struct Pace: Equatable {
    /// When playing began.
    package let beganAt: Moment
    /// The time of the first step.
    package let origin: Timestamp
    /// Times real time; 0 is as fast as the receiver acknowledges.
    package let speed: Double

    package init(beganAt: Moment, origin: Timestamp, speed: Double) {
        self.beganAt = beganAt
        self.origin = origin
        self.speed = speed
    }

    /// Whether acknowledgements set the pace.
    var followsReceiver: Bool { speed == 0 }

    func isDue(_ time: Timestamp, _ now: Moment) -> Bool {
        now >= beganAt && (followsReceiver || time.seconds(since: origin) <= now.seconds(since: beganAt) * speed)
    }
}
