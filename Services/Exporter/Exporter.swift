import ArgumentParser

@main
struct Exporter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exporter",
        abstract: "Writes finished workouts to files and brings them to where people want them.")
}
