import Workouts

/// What is played: where the steps come from and how they are paced.
enum Script: Sendable {
    case recording(RecordingFile)
    /// Without a seed, one is drawn when the queue is begun; without a duration, in whole seconds, the run goes on.
    case simulation(seed: UInt64?, duration: Int?)

    /// Opens the queue of this script, or begins it.
    func openQueue(
        in folder: QueueFolder, _ key: SessionKey, _ device: Device, now: Timestamp
    ) throws(QueueError) -> QueueFile {
        switch self {
        case .recording(let file):
            let source = QueueHeader.Source.recording(fingerprint: file.fingerprint)
            return try folder.open(key, device, now: now, source: source) { $0 == source }
        case .simulation(let seed, _):
            let source = QueueHeader.Source.simulation(seed: seed ?? .random(in: 0 ... .max))
            return try folder.open(key, device, now: now, source: source) { stored in
                guard seed == nil, case .simulation = stored else { return stored == source }
                return true
            }
        }
    }

    /// The steps from the first on: the same for each process that takes up the queue.
    func steps(_ header: QueueHeader) -> any IteratorProtocol<Step> {
        switch (self, header.source) {
        case (.recording(let file), _): file.recording.steps.makeIterator()
        case (.simulation(_, let duration), .simulation(let seed)):
            SimulatedRun(seed: seed, start: header.beganAt, duration: duration)
        case (.simulation, .recording): preconditionFailure("the queue was opened for another script")
        }
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
        case .recording(let file): file.recording.samples.count
        case .simulation(_, let duration): duration.map { $0 + 1 }
        }
    }

    /// Whether Ctrl-C ends the session; otherwise it only interrupts playing.
    var endsOnStop: Bool {
        switch self {
        case .recording: false
        case .simulation: true
        }
    }
}
