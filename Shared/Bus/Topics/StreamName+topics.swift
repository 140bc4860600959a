package import Workouts

/// The topics of a kind of stream.
extension StreamName.Kind {
    /// The topic of a device's items.
    package func items(_ device: Device) -> SessionTopic {
        switch self {
        case .samples: .samples(device)
        case .locations: .locations(device)
        }
    }

    /// The topic of acknowledgements.
    package func ack(_ device: Device) -> SessionTopic {
        switch self {
        case .samples: .samplesAck(device)
        case .locations: .locationsAck(device)
        }
    }

    /// The owner's live topic.
    package var live: SessionTopic {
        switch self {
        case .samples: .metrics
        case .locations: .route
        }
    }

    /// What the owner received of the session.
    package var heard: SessionTopic { .heard(self) }

    /// The owner's summary topic.
    package var summary: SessionTopic {
        switch self {
        case .samples: .summaryMetrics
        case .locations: .summaryRoute
        }
    }

    /// The topic of one chunk of the final rows.
    package func chunk(_ number: Int) -> SessionTopic {
        switch self {
        case .samples: .series(number)
        case .locations: .track(number)
        }
    }

    /// The device of an item topic of this kind; `nil` for every other topic.
    package func device(of topic: SessionTopic) -> Device? {
        switch (self, topic) {
        case (.samples, .samples(let device)), (.locations, .locations(let device)): device
        default: nil
        }
    }
}
