import Workouts

extension Device {
    /// A watch with four random characters.
    static func newWatch() -> Device {
        let characters = "abcdefghijklmnopqrstuvwxyz0123456789"
        let random = String((0..<4).compactMap { _ in characters.randomElement() })
        guard let device = Device("watch-\(random)") else { preconditionFailure("made to match the pattern") }
        return device
    }
}
