/// The version of Pacebus, shown by `--version`, in the start-up line and in each service's presence.
package let pacebusVersion = "0.1.0"
