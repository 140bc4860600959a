import Formats
import Workouts

/// The steps that are not in a queue yet. After a crash, items of one kind may be there further than those of the other.
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
