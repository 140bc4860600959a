import Formats
import Workouts

/// What is played: where the steps come from and how they are paced.
enum PlaybackScript: Sendable {
    case recording(RecordingFile)
    /// So many samples a second. Without a seed, one is drawn when the queue is begun; without a duration, in whole
    /// seconds, the run goes on.
    case simulation(seed: UInt64?, duration: Int?, rate: Double = 1)

    /// Opens the queue of this script, or begins it.
    func openQueue(
        in folder: QueueFolder, _ key: SessionKey, _ device: Device, now: Timestamp, joins: Bool
    ) throws(QueueError) -> QueueFile {
        switch self {
        case .recording(let file):
            let source = QueueHeader.Source.recording(fingerprint: file.fingerprint)
            return try folder.open(key, device, now: now, source: source, joins: joins) { $0 == source }
        case .simulation(let seed, _, let rate):
            let source = QueueHeader.Source.simulation(seed: seed ?? .random(in: 0 ... .max), rate: rate)
            return try folder.open(key, device, now: now, source: source, joins: joins) { stored in
                guard seed == nil, case .simulation(_, rate) = stored else { return stored == source }
                return true
            }
        }
    }

    /// The steps from the first on: the same for each process that takes up the queue.
    func steps(_ header: QueueHeader) -> any IteratorProtocol<Step> {
        let steps: any IteratorProtocol<Step> =
            switch (self, header.source) {
            case (.recording(let file), _): file.recording.steps.makeIterator()
            case (.simulation(_, let duration, _), .simulation(let seed, let rate)):
                SimulatedRun(seed: seed, start: header.beganAt, duration: duration, rate: rate)
            case (.simulation, .recording): preconditionFailure("the queue was opened for another script")
            }
        return header.joins ? ItemSteps(steps: steps) : steps
    }

    func pace(_ header: QueueHeader, speed: Double) -> Pace {
        let origin =
            switch self {
            case .recording(let file): file.recording.segments[0].lowerBound
            case .simulation: header.beganAt
            }
        return Pace(beganAt: header.beganAt, origin: origin, speed: speed)
    }

    /// How many items there will be, when that is known.
    var total: Int? {
        switch self {
        case .recording(let file): file.recording.samples.count + file.recording.locations.count
        case .simulation(_, let duration, let rate): duration.map { 2 * (SimulatedRun.lastNumber($0, rate: rate) + 1) }
        }
    }
}

/// The items among steps: what a device contributes to a session that is another's.
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
