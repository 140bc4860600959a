import ArgumentParser
import ServiceKit

/// The service's own settings.
struct EngineOptions: ParsableArguments {
    @Option(help: Setting.coach.help)
    var coach: String?

    /// - Throws: `SettingError` for a word that is neither.
    func asksCoach(environment: [String: String]) throws(SettingError) -> Bool {
        let word = coach ?? environment[Setting.coach.variable].flatMap { $0.isEmpty ? nil : $0 } ?? "off"
        switch word {
        case "on": return true
        case "off": return false
        default: throw SettingError(.coach, refusing: word)
        }
    }
}

extension Setting {
    static let coach = Setting(
        flag: "coach", explanation: "Whether an outside coach is asked about swaps and changes of difficulty",
        accepted: "on or off", standard: "off")
}
