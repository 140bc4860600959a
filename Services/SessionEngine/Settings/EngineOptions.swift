import ArgumentParser
import ServiceKit

struct EngineOptions: ParsableArguments {
    @Option(help: Setting.coach.help)
    var coach: String?

    /// - Throws: `SettingError` for a word that is neither.
    func asksCoach(environment: [String: String]) throws(SettingError) -> Bool {
        let word = SettingValues(environment: environment).text(.coach, coach) ?? "off"
        switch word {
        case "on": return true
        case "off": return false
        default: throw SettingError(.coach, refusing: word)
        }
    }
}

extension Setting {
    static let coach = Setting(
        flag: "coach", explanation: "Whether swaps and difficulty changes are sent to an outside coach",
        accepted: "on or off", standard: "off")
}
